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
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"><p>This page needs JavaScript. The same is said by <a href="v1/openapi.json">v1/openapi.json</a>.</p></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/** No validatorUrl: it would send the document to a host of Swagger's. */
const start = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
})
`

/** Swagger UI sets style attributes, and its style sheet has images in it. */
const allows = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'"

/** The page on which people read the OpenAPI document and try it, and what it loads. */
export const docsPages: readonly Page[] = [
  keptPage('/docs', async () => page, { allows }),
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
