import type { Dns } from '../../../lib/base/network.ts'

type ZoneRecord = 'TIMEOUT' | Readonly<Record<string, string | readonly string[] | readonly [number, string]>>

/**
 * DNS out of a zone as the openspf suite writes it: names to their records; `TIMEOUT` after the records of a type that
 * is not there; an SPF record also stands for TXT where there is none.
 */
export function zoneDns(zone: Readonly<Record<string, readonly ZoneRecord[]>>): Dns {
  const names = new Map(Object.entries(zone).map(([name, records]) => [keyOf(name), records]))

  async function resolve(name: string, type: string): Promise<unknown[]> {
    if (name.length > 253 || name.split('.').some(label => label.length > 63)) throw failure('EBADNAME')
    const records = names.get(keyOf(name))
    if (!records) throw failure('ENOTFOUND')
    const hasTxt = records.some(record => record !== 'TIMEOUT' && 'TXT' in record)
    const found: unknown[] = []
    for (const record of records) {
      if (record === 'TIMEOUT') {
        if (found.length === 0) throw failure('ETIMEOUT')
        break
      }
      for (const [given, value] of Object.entries(record)) {
        if (given === 'CNAME' && type !== 'CNAME') return resolve(String(value), type)
        const isAsked = given === type || (given === 'SPF' && type === 'TXT' && !hasTxt)
        if (!isAsked || value === 'NONE') continue
        if (type === 'MX') found.push({ priority: value[0], exchange: value[1] })
        else found.push(type === 'TXT' ? [value].flat() : value)
      }
    }
    if (found.length === 0) throw failure('ENODATA')
    return found
  }

  const unasked = () => Promise.reject(failure('ENOTFOUND'))
  return {
    resolve,
    resolveMx: unasked,
    resolve4: unasked,
    resolve6: unasked,
    resolveTxt: unasked,
    reverse: unasked,
  }
}

function keyOf(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}
