import { setTimeout as pause } from 'node:timers/promises'
import { nodeLeaseMs } from '../../lib/store/nodes.ts'
import type { TestDaemon } from './daemon.ts'
import { chanceOf } from './fuzz.ts'

/** That a node was killed or made to stand still. */
export interface Disturbance {
  /** By the time that only goes forward. */
  readonly atMs: number
  readonly what: string
}

/**
 * Kills nodes and starts them again, and makes them stand still for longer than their leases or for a moment, by chance, until it is over;
 * then all are back. One is always there, or nobody would see that the others are gone.
 * @param nodes those that are started again take the places of those that were killed
 * @param away is given the places of those that are down or stand still
 * @param seed the same disturbances for the same one, as far as time lets them be
 */
export async function disturbNodes(
  nodes: TestDaemon[],
  away: Set<number>,
  seed: number,
  isOver: () => boolean,
): Promise<readonly Disturbance[]> {
  const chance = chanceOf(seed)
  const disturbances: Disturbance[] = []
  const returning: Promise<void>[] = []
  const disturb = (at: number, what: string) => {
    away.add(at)
    disturbances.push({ atMs: performance.now(), what: `${what} ${at}` })
  }
  const kill = async (at: number, forMs: number) => {
    disturb(at, 'killed')
    // Its end asks whether anything contradicts itself, while the others go on.
    await nodes[at]!.end('SIGKILL')
    await pause(forMs)
    nodes[at] = await nodes[at]!.restart()
    away.delete(at)
  }
  const stop = async (at: number, forMs: number) => {
    disturb(at, 'stopped')
    nodes[at]!.process.kill('SIGSTOP')
    await pause(forMs)
    nodes[at]!.process.kill('SIGCONT')
    away.delete(at)
  }
  while (!isOver()) {
    await pause(500 + chance.number(3_000))
    const present = [...nodes.keys()].filter(at => !away.has(at))
    if (present.length < 2) continue
    const at = chance.of(present)
    // One of each first.
    const number = returning.length
    const isKill = number === 0 || (number > 1 && chance.number(2) === 0)
    const isLong = number === 1 || chance.number(3) > 0
    const longMs = nodeLeaseMs + 1_000 + chance.number(6_000)
    returning.push(isKill ? kill(at, chance.number(6_000)) : stop(at, isLong ? longMs : chance.number(4_000)))
  }
  await Promise.all(returning)
  return disturbances
}
