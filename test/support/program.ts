import { spawn } from 'node:child_process'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, `input` on its standard input. Never throws for what the program says. */
export function runProgram(
  command: string,
  args: readonly string[],
  input?: Buffer | string,
  options: { cwd?: string; timeoutMs?: number; env?: Readonly<Record<string, string>> | undefined } = {},
): Promise<Finished> {
  const child = spawn(command, args, {
    timeout: options.timeoutMs ?? 60_000,
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  child.stdin.on('error', () => {}) // a program may end without reading all
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
}
