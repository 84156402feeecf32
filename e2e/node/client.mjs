// Runs every scenario with the OpenAI Node SDK and prints what a user sees.
//
// The base URL and key are taken from OPENAI_BASE_URL and OPENAI_API_KEY, as
// any app does; one JSON object with an entry per scenario goes to standard
// output. The first argument is the folder that holds node_modules; without it
// the folder of this file is taken.

import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(process.argv[2] ? join(process.argv[2], 'client.mjs') : import.meta.url);
const { OpenAI } = require('openai');

const client = new OpenAI({ maxRetries: 0, timeout: 20_000 });
const model = 'gpt-4o-mini';
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What is 2^53 + 1? 请用中文回答 🙂 <&>' },
];
const weather = [{
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city', 'days'],
    },
  },
}];
const invoice = {
  name: 'invoice',
  strict: true,
  schema: {
    type: 'object',
    properties: {
      customer: { type: 'string' },
      items: { type: 'array', items: { type: 'string' } },
      paid: { type: 'boolean' },
    },
    required: ['customer', 'items', 'paid'],
    additionalProperties: false,
  },
};

const create = (options) => client.chat.completions.create({ model, messages, ...options });

async function chunksOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

async function tools() {
  const first = await create({ tools: weather });
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  const result = { role: 'tool', tool_call_id: call.id, content: '21 °C, sunny' };
  return {
    arguments: JSON.parse(call.function.arguments),
    first,
    streamed: await chunksOf(await create({ tools: weather, stream: true })),
    second: await create({ tools: weather, messages: [...messages, message, result] }),
  };
}

async function structured() {
  const answer = await client.chat.completions.parse({
    model, messages, response_format: { type: 'json_schema', json_schema: invoice },
  });
  return { content: answer.choices[0].message.content, parsed: answer.choices[0].message.parsed };
}

async function models() {
  const all = [];
  for await (const entry of client.models.list()) all.push(entry);
  return all;
}

function image() {
  const url = readFileSync(process.env.E2E_IMAGE, 'ascii');
  const content = [
    { type: 'text', text: 'What is in this picture?' },
    { type: 'image_url', image_url: { url } },
  ];
  return create({ messages: [{ role: 'user', content }] });
}

async function speech() {
  const answer = await client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'Say this aloud.' });
  const bytes = Buffer.from(await answer.arrayBuffer());
  return {
    type: answer.headers.get('content-type'),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

async function failure(name) {
  try {
    await create({ model: name });
  } catch (error) {
    return {
      class: error.constructor.name,
      status: error.status,
      message: error.message,
      type: error.type,
      code: error.code,
      body: error.error,
      request_id: error.requestID,
      retry_after: error.headers.get('retry-after'),
    };
  }
  return 'no error';
}

async function abort() {
  const read = [];
  for await (const chunk of await create({ model: process.env.E2E_ABORTED_MODEL, stream: true })) {
    read.push(chunk);
    if (read.length === 3) break; // which aborts the request
  }
  return read;
}

const scenarios = {
  chat: () => create({}),
  stream: async () => chunksOf(await create({ stream: true })),
  stream_usage: async () => chunksOf(await create({ stream: true, stream_options: { include_usage: true } })),
  tools,
  structured,
  embeddings: () => client.embeddings.create({
    model: 'text-embedding-3-small', input: ['first text', '第二段'], dimensions: 64,
  }),
  models,
  upload: () => client.files.create({ file: createReadStream(process.env.E2E_UPLOAD), purpose: 'user_data' }),
  image,
  transcription: () => client.audio.transcriptions.create({
    file: createReadStream(process.env.E2E_AUDIO), model: 'whisper-1',
  }),
  speech,
  error_401: () => failure('error-401'),
  error_429: () => failure('error-429'),
  error_500: () => failure('error-500'),
  abort,
};

const outcomes = {};
for (const [name, run] of Object.entries(scenarios)) outcomes[name] = await run();
process.stdout.write(JSON.stringify(outcomes));
