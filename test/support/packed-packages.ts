/**
 * The packages of which a test loads hundreds of modules, each as one file: to find and load those one by one was a fourth of what most test
 * files took of the processor. A run makes the files once (run-dir.ts). This module is loaded before each test file and in each of its threads
 * (test-file.ts), and has imports find them; without it they find the packages as they are.
 */

import { existsSync, symlinkSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..', '..')
/** What one imports of another must be the same module in both: they are made together. */
const packed = ['kysely', 'tap', 'tap-parser', 'tcompare', 'typebox']

/** tap leaves out of where something failed what stands in a folder of this name. */
const dirIn = (runDir: string) => join(runDir, 'node_modules', '@tapjs')

/** Makes the files in the directory of a run. */
export async function packPackages(runDir: string): Promise<void> {
  const { build } = await import('esbuild')
  const require = `const require = name => process.getBuiltinModule('node:module').createRequire(import.meta.url)(name);`
  await build({
    absWorkingDir: root,
    entryPoints: packed,
    outdir: dirIn(runDir),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    banner: { js: require },
    logLevel: 'warning',
  })
  // What they ask for only when it is needed.
  symlinkSync(join(root, 'node_modules'), join(dirIn(runDir), 'node_modules'))
}

function findPacked(dir: string): void {
  const urls = new Map(packed.map(name => [name, pathToFileURL(join(dir, `${name}.mjs`)).href]))
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier)
      return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
    },
  })
}

const runDir = process.env.MAILBOXD_TESTS_RUN
if (runDir !== undefined && existsSync(dirIn(runDir))) findPacked(dirIn(runDir))
