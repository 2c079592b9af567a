import { hash } from 'node:crypto'
import { escapeHtml } from '../base/text.ts'
import type { PageAnswer } from './page.ts'

/** Colours of the system but for the button, whose contrast is 6.9:1 in light and dark. */
const style = `
:root { color-scheme: light dark; }
body { max-width: 36rem; margin: 0 auto; padding: 1rem; font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.3; }
button { min-height: 2.75rem; padding: 0.5rem 1.25rem; border: 0; border-radius: 0.375rem; background: #0b5cad; color: #fff; font: inherit; cursor: pointer; }
button:focus-visible, a:focus-visible { outline: 3px solid CanvasText; outline-offset: 3px; }
footer { margin-top: 3rem; border-top: 1px solid; font-size: 0.9375rem; }
`

/** The style is the one thing that the page may have besides its text. */
const allows = `style-src 'sha256-${hash('sha256', style, 'base64')}'`

export interface PlainPage {
  readonly status: number
  /** Also the heading. */
  readonly title: string
  /** HTML. */
  readonly body: string
  /** Who runs the server, as HTML. */
  readonly footer: string
}

/** A page of words and at most a button, for whatever browser there is; it has no script. */
export function plainPage({ status, title, body, footer }: PlainPage): PageAnswer {
  const heading = escapeHtml(title)
  return {
    status,
    allows,
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${heading}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${body}
</main>
<footer>
${footer}
</footer>
</body>
</html>
`,
  }
}
