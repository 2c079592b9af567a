import { tellSystemFault } from '../base/faults.ts'
import { findBrokenQuickly, findDamage } from './dialect/integrity.ts'

/** A process of its own, which can be ended while SQLite reads: it tells what is wrong with a file, or why that is not known. */
const [path = '', depth] = process.argv.slice(2)
try {
  const { broken, orphans } =
    depth === 'deep' ? findDamage(path) : { broken: findBrokenQuickly(path), orphans: [] }
  process.send?.({ faults: [...broken, ...orphans] })
} catch (error) {
  process.send?.({ unknown: tellSystemFault(error) ?? String(error) })
}
