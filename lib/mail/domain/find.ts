import { recordFoundLength, recordsFound } from '../../base/lengths.ts'
import type { Lookup } from '../signature/key.ts'

/** The records, or an empty list when there are none; throws when DNS does not say. */
export async function find(lookup: Lookup, name: string, type: string): Promise<unknown[]> {
  try {
    return await lookup(name, type)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}

/** Each TXT record in one piece. @throws when DNS does not say */
export async function findTexts(lookup: Lookup, name: string): Promise<string[]> {
  return (await find(lookup, name, 'TXT')).map(record => (Array.isArray(record) ? record.join('') : ''))
}

/** Whoever runs the name server chooses these texts: few of them, and the start of each. */
export function bounded(texts: readonly string[]): string[] {
  return texts
    .slice(0, recordsFound)
    .map(text => text.replace(/[^\x20-\x7e]/g, '?').slice(0, recordFoundLength))
}

/** What was found, or `instead` when DNS does not say. @throws what else goes wrong */
export async function orWhenUnanswered<T>(work: Promise<T>, instead: T): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error) return instead
    throw error
  }
}
