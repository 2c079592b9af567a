import { findBrokenQuickly, findDamage } from './dialect/integrity.ts'

/** A process of its own, which can be ended while SQLite reads: it tells what is wrong with a file. */
const [path = '', depth] = process.argv.slice(2)
const { broken, orphans } =
  depth === 'deep' ? findDamage(path) : { broken: findBrokenQuickly(path), orphans: [] }
process.send?.([...broken, ...orphans])
