package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// readHTML reads a web page as Markdown, without what is not shown, not text,
// or there to get about: scripts, navigation, forms, pictures. Links keep
// their text.
func readHTML(f File, sink Sink) error {
	if f.Size > f.Limits.Page {
		return fmt.Errorf("%w: a web page of %d MB, at most %d", ErrTooLarge, f.Size>>20, f.Limits.Page>>20)
	}
	start := make([]byte, 1024)
	n, err := f.ReadAt(start, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF): // it is empty
		return nil
	case n == 0:
		return err
	}
	r, err := f.Decode(f.ReaderAt, f.Size, declared(start[:n]))
	if err != nil {
		return err
	}
	if bytes.Contains(start[:n], []byte("<?xml")) || bytes.Contains(start[:n], []byte("1999/xhtml")) {
		if r, err = closedTags(r); err != nil {
			return err
		}
	}
	page, err := html.Parse(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if name := oneLine(textOf(find(page, atom.Title))); name != "" {
		sink.Title(name)
	}
	body := textBody(page)
	if body == nil {
		return nil
	}
	shield(body, false)
	text, err := toMarkdown(body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return sink.Markdown(unparted.Replace(string(text)))
}

// textBody is the part of a page that is read, without what is no text of it.
func textBody(page *html.Node) *html.Node {
	body := find(page, atom.Body)
	if body == nil {
		return nil
	}
	prune(body)
	if main := find(body, atom.Main); main != nil && strings.TrimSpace(allText(main)) != "" {
		return main
	}
	return body
}

// closedTag matches an element of raw text that is closed in its own tag, as
// XHTML has it. HTML takes all that follows for its text.
var closedTag = regexp.MustCompile(`(?i)<(title|script|style|textarea|iframe|noscript|noframes)\b([^<>]*)/>`)

func closedTags(r io.Reader) (io.Reader, error) {
	text, err := io.ReadAll(r)
	return bytes.NewReader(closedTag.ReplaceAll(text, []byte("<$1$2></$1>"))), err
}

// unparted takes out the signs that only tell where a word may be parted: they
// would part it for the search.
var unparted = strings.NewReplacer("\u00ad", "", "\u200b", "", "\ufeff", "")

func toMarkdown(n *html.Node) ([]byte, error) {
	// Escapes would become part of the text that is searched and shown.
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithSpanCellBehavior(table.SpanBehaviorMirror),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithSkipEmptyRows(true))))
	return c.ConvertNode(n)
}

// declared is the charset that the first bytes of a page name, "" if they do
// not.
func declared(start []byte) string {
	lower := bytes.ToLower(start)
	if !bytes.Contains(lower, []byte("charset")) && !bytes.Contains(lower, []byte("encoding=")) {
		return ""
	}
	_, name, _ := charset.DetermineEncoding(start, "")
	return name
}

// dropped are the elements that hold no text of the page.
var dropped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true, atom.Object: true, atom.Embed: true,
	atom.Svg: true, atom.Canvas: true, atom.Img: true, atom.Picture: true, atom.Video: true, atom.Audio: true, atom.Map: true,
	atom.Nav: true, atom.Button: true, atom.Input: true, atom.Select: true, atom.Textarea: true, atom.Dialog: true,
	atom.Rt: true, atom.Rp: true, // how characters are read, above them
	atom.Footer: false, atom.Aside: false, // what stands there may be the text's
}

// prune takes out what is not text, and unwraps links.
func prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode, c.Type == html.ElementNode && (dropped[c.DataAtom] || hidden(c)):
			n.RemoveChild(c)
		case c.Type == html.ElementNode && c.DataAtom == atom.Form:
			if prune(c); isPage(c) {
				rename(c, atom.Div)
			} else {
				n.RemoveChild(c)
			}
		case c.Type == html.ElementNode && c.DataAtom == atom.A:
			prune(c)
			rename(c, atom.Span)
		case c.Type == html.ElementNode && c.DataAtom == atom.Sup:
			if prune(c); c.PrevSibling != nil && digitsMeet(lastText(c.PrevSibling), allText(c)) {
				n.InsertBefore(&html.Node{Type: html.TextNode, Data: "^"}, c) // else 10 and 6 became 106
			}
		case c.Type == html.ElementNode && c.DataAtom == atom.Table:
			prune(c)
			tidy(c)
		default:
			prune(c)
		}
		c = next
	}
}

// lastText is the text of a node, of an element what is in it.
func lastText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	return allText(n)
}

// isPage tells a form that a server puts around a whole page, or around its
// text, from one to fill in.
func isPage(form *html.Node) bool {
	return find(form, atom.Main) != nil || find(form, atom.H1) != nil || utf8.RuneCountInString(oneLine(allText(form))) > maxForm
}

// maxForm is how many letters the labels of a form have at most.
const maxForm = 400

// hidden tells whether an element is not shown, as far as it says so itself.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		value := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if value == "true" {
				return true
			}
		case "role":
			if value == "navigation" || value == "search" || value == "menu" {
				return true
			}
		case "style":
			if strings.Contains(value, "display:none") || strings.Contains(value, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// find returns the first element of a kind, nil if there is none. Trees are
// as deep as the parser lets them be: 512.
func find(n *html.Node, kind atom.Atom) *html.Node {
	if n.Type == html.ElementNode && n.DataAtom == kind {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, kind); found != nil {
			return found
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			_, _ = io.WriteString(&b, c.Data)
		}
	}
	return b.String()
}
