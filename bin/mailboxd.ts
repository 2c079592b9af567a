import { keepCompiledCode } from './compile-cache.ts'

// Before the rest is loaded.
keepCompiledCode()
const { serve } = await import('../lib/serve.ts')
const { programVersion } = await import('../lib/base/package-root.ts')
process.exit(await serve(process.argv.slice(2), programVersion(), process.env))
