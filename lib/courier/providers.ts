import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../base/package-root.ts'

/** What a large provider of mail takes from one server. */
export interface Provider {
  readonly name: string
  readonly concurrency: number
  /** Messages a minute; 0: no bound. */
  readonly perMinute: number
}

/** The large providers that are known, by the names of their mail servers. */
export interface Providers {
  /** Whose servers these all are (in lower case), if they are one's of them: beside one of somebody else they prove nothing. */
  ofHosts(hosts: readonly string[]): Provider | undefined
  named(name: string): Provider | undefined
}

/**
 * Those that come with the program: config/providers.txt of the package.
 * @throws Error with the number of a line that is none
 */
export function loadProviders(file: string = join(packageRoot(), 'config', 'providers.txt')): Providers {
  return readProviders(readFileSync(file, 'utf8'))
}

/** Reads them in the form that config/providers.txt explains. */
function readProviders(text: string): Providers {
  const bySuffix = new Map<string, Provider>()
  const byName = new Map<string, Provider>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [suffix, name, concurrency, perMinute, ...more] = line.split('\t')
    const isWhole = suffix && name && Number(concurrency) >= 1 && Number(perMinute) >= 0 && more.length === 0
    if (!isWhole) throw new Error(`providers, line ${index + 1}: want "suffix, name, at once, a minute"`)
    const provider = byName.get(name) ?? {
      name,
      concurrency: Number(concurrency),
      perMinute: Number(perMinute),
    }
    byName.set(name, provider)
    bySuffix.set(suffix, provider)
  }
  function ofHost(host: string): Provider | undefined {
    const labels = host.split('.')
    for (let from = 0; from < labels.length; from++) {
      const provider = bySuffix.get(labels.slice(from).join('.'))
      if (provider) return provider
    }
    return undefined
  }
  return {
    ofHosts(hosts) {
      const [first, ...others] = hosts.map(ofHost)
      return others.every(one => one === first) ? first : undefined
    },
    named: name => byName.get(name),
  }
}
