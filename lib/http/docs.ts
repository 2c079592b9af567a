import { readFile } from 'node:fs/promises'
import { openApiOf } from '../api/index.ts'
import { keptJson } from './json.ts'
import { type KeptBody, keepBody } from './kept-body.ts'
import type { Page, PageAnswer } from './page.ts'

/** The files of Swagger UI that its page needs; the package has no more that is served. */
const files = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const

/** Addresses are relative, so that the page works below any prefix that a proxy gives it. */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mailboxd API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<div id="docs"><p>This page needs JavaScript. The same is said by <a href="v1/openapi.json">v1/openapi.json</a>.</p></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/**
 * No validatorUrl: it would send the document to a host of Swagger's. The schemas stand below all operations, closed: what is
 * said over a WebSocket stands nowhere else.
 */
const start = `const wantsDark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', wantsDark.matches)
paint()
wantsDark.addEventListener('change', paint)
SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

/** Colours of Swagger UI that are too pale to be read by all (WCAG 2.2, 1.4.3), and the page in the dark. */
const style = `
.swagger-ui .info .title small, .swagger-ui .info .title small pre { background: #4d5562; color: #fff }
.swagger-ui .info .title small.version-stamp, .swagger-ui .info .title small.version-stamp pre { background: #3f6600 }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1b7a4b }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fae }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8f5300 }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #0f766b }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e }
html:not(.dark-mode) .swagger-ui .btn.authorize { color: #1b7a4b }
html:not(.dark-mode) .swagger-ui .info a, html:not(.dark-mode) .swagger-ui .markdown a { color: #1f5fae }
html.dark-mode, html.dark-mode body { background: #1c2022 }
`

/** Swagger UI sets style attributes, and its style sheet has images in it. */
const allows = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"

/** The page on which people read the OpenAPI document and try it, and what it loads. */
export const docsPages: readonly Page[] = [
  keptPage('/docs', async () => page, { allows }),
  keptPage('/docs/page.css', async () => style, { contentType: files['swagger-ui.css'] }),
  keptPage('/docs/start.js', async () => start, { contentType: files['swagger-ui-bundle.js'] }),
  ...Object.entries(files).map(([name, contentType]) =>
    keptPage(`/docs/${name}`, () => readPackageFile(name), { contentType }),
  ),
  // Beside /v1/openapi.json, where clients look for it that know no version.
  {
    method: 'get',
    path: '/openapi.json',
    handle: async ({ app }) => ({
      contentType: 'application/json; charset=utf-8',
      body: await keptJson(openApiOf(app)),
    }),
  },
]

/** Read when it is first asked for, and kept. */
function keptPage(path: string, read: () => Promise<string | Buffer>, more: Omit<PageAnswer, 'body'>): Page {
  let kept: Promise<KeptBody> | undefined
  return {
    method: 'get',
    path,
    async handle() {
      kept ??= read()
        .then(keepBody)
        .catch(error => {
          // What failed once (too many open files) may go well the next time.
          kept = undefined
          throw error
        })
      return { ...more, body: await kept }
    },
  }
}

function readPackageFile(name: string): Promise<Buffer> {
  return readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)))
}
