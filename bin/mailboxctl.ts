import { keepCompiledCode } from './compile-cache.ts'

// Before the rest is loaded, which is one file.
keepCompiledCode()
const { main } = await import('../lib/cli/main.ts')
process.exitCode = await main()
