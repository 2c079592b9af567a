import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { allSettings, allTables } from './declaration.ts'
import { ConfigFault } from './fault.ts'
import type { Config } from './schema.ts'
import { readToml } from './toml.ts'
import { validate } from './validate.ts'

/** Bytes of a configuration file. */
export const configBytes = 256 * 1024

export type { Config }

/** Reads and checks the configuration file at `path`. Throws ConfigFault with all that is wrong with it. */
export async function loadConfig(path: string): Promise<Config> {
  const bytes = await readBytes(path)
  if (bytes.length > configBytes) {
    throw fileFault(path, `is larger than ${configBytes} bytes: is it a configuration file?`)
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw fileFault(path, 'is not UTF-8 text: save it as UTF-8')
  }
  return parseConfig(text, path)
}

/** The configuration that the TOML `text` holds; `source` names it in faults. Throws ConfigFault with all that is wrong with it. */
export function parseConfig(text: string, source: string): Config {
  const read = readToml(text)
  if ('fault' in read) throw new ConfigFault(source, [read.fault])
  return configOf(read.document, source)
}

/** What of local mode may be chosen. */
export interface LocalChoice {
  readonly dataDir?: string
  /** "address:port" of the doors. */
  readonly http?: string
  readonly smtp?: string
  readonly submission?: string
}

/** The configuration of local mode, which has no file: loopback only, and no mail leaves the machine. */
export function localConfig({ dataDir, ...doors }: LocalChoice = {}): Config {
  const valuesIn = (table: string) =>
    Object.fromEntries(
      allSettings
        .filter(setting => setting.table === table)
        .map(({ name, declaration }) => [name, declaration.local ?? declaration.default])
        .filter(([, value]) => value !== undefined),
    )
  const top = valuesIn('')
  const tables = Object.fromEntries(allTables.map(({ name }) => [name, valuesIn(name)]))
  for (const [name, address] of Object.entries(doors)) tables[name] = { ...tables[name], listen: [address] }
  return configOf({ ...top, data_dir: resolve(dataDir ?? top.data_dir), ...tables }, 'local mode')
}

function configOf(document: Record<string, unknown>, source: string): Config {
  const result = validate(document)
  if ('faults' in result) throw new ConfigFault(source, result.faults)
  return result.config
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    // One byte more than the limit, and no more, is read of whatever the path leads to.
    return Buffer.concat(await createReadStream(path, { end: configBytes }).toArray())
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const said = typeof code === 'string' ? unreadable[code] : undefined
    if (said === undefined) throw error
    throw fileFault(path, said)
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist: let mailboxctl setup write it, or begin with a copy of mailboxd.example.toml',
  ENOTDIR: 'does not exist: a part of its path is not a directory',
  EACCES: 'may not be read by this user: give the user that mailboxd runs as the right to read it',
  EPERM: 'may not be read by this user: give the user that mailboxd runs as the right to read it',
  EISDIR: 'is a directory: name the file in it',
  ELOOP: 'is a symbolic link that leads to itself',
  ENAMETOOLONG: 'is too long for a path',
}

const fileFault = (path: string, message: string) => new ConfigFault(path, [{ path: '', message }])
