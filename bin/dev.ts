/**
 * `npm run dev [-- ARGUMENTS]`: mailboxd from its sources, in local mode, started again when one of them changes.
 *
 * Most of a start is the loading of libraries, which do not change. So a second process, the spare, loads them while the
 * first runs, and loads the sources only when it is told to run.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, watch } from 'node:fs'
import { join } from 'node:path'
import { keepCompiledCode } from './compile-cache.ts'

const root = join(import.meta.dirname, '..')
const watched = ['lib', 'bin', 'config']
/** An editor saves one file in several steps: the last one is waited for. */
const settledMs = 30
/** When the spare is started after the daemon. */
const spareAfterMs = 1_000

/** Runs until SIGINT or SIGTERM; resolves with the exit code when both processes are gone. */
async function keepRunning(args: readonly string[]): Promise<number> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
  const changes = watchSources()
  let spare: ChildProcess | undefined
  while (!stopping.signal.aborted) {
    const running = spare ?? startSpare(args)
    const ended = endOf(running)
    if (running.connected) running.send('run')
    spare = undefined
    // It must not take the processor from the start that somebody waits for.
    const later = setTimeout(() => {
      spare = startSpare(args)
    }, spareAfterMs)
    // A change from here on is heard; one before is read when the process that was just told loads the sources.
    await Promise.race([changes.next(), aborted(stopping.signal)])
    clearTimeout(later)
    running.kill('SIGTERM')
    await ended
  }
  if (spare) {
    const ended = endOf(spare)
    spare.kill('SIGKILL')
    await ended
  }
  return 0
}

function watchSources(): { next(): Promise<void> } {
  let told: () => void = () => {}
  let settling: NodeJS.Timeout | undefined
  for (const folder of watched) {
    watch(join(root, folder), { recursive: true }, (_, file) => {
      clearTimeout(settling)
      settling = setTimeout(() => {
        console.error(`\n${join(folder, file ?? '')} has changed: starting again`)
        told()
      }, settledMs)
    })
  }
  return {
    next: () =>
      new Promise(resolve => {
        told = resolve
      }),
  }
}

const startSpare = (args: readonly string[]) => fork(import.meta.filename, args)

const endOf = (child: ChildProcess) =>
  new Promise<void>(resolve => {
    child.once('exit', () => resolve())
  })

const aborted = (signal: AbortSignal) => (signal.aborted ? undefined : once(signal, 'abort'))

/** The process that loads the libraries, waits, and becomes mailboxd. */
async function becomeDaemon(): Promise<void> {
  keepCompiledCode()
  const told = once(process, 'message')
  // Whoever started it is gone, by whatever signal: so is this.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  for (const library of librariesOfSources()) await import(library)
  await told
  await import('./mailboxd.ts')
}

function librariesOfSources(): Set<string> {
  const form = /^(?:import|\}) (?!type\b).*from '([^.'][^']*)'/gm
  const sources = globSync('lib/**/*.ts', { cwd: root }).map(path => readFileSync(join(root, path), 'utf8'))
  return new Set(sources.flatMap(text => [...text.matchAll(form)].map(match => match[1]!)))
}

if (process.send) await becomeDaemon()
else process.exit(await keepRunning(process.argv.slice(2)))
