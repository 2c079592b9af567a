import { enableCompileCache } from 'node:module'

// Before the rest is loaded: the compiled code of the libraries is kept from one start to the next.
enableCompileCache()
const { serve } = await import('../lib/serve.ts')
const { packageVersion } = await import('../lib/base/package-root.ts')
process.exit(await serve(process.argv.slice(2), packageVersion()))
