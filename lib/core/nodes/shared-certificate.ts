import { setTimeout as pause } from 'node:timers/promises'
import { type SecretBox, SecretFault, sha256Hex } from '../../base/secrets.ts'
import { type Clock, isoAfter } from '../../base/time.ts'

import {
  deleteAcmeChallengesBefore,
  findAcmeFile,
  listAcmeChallenges,
  putAcmeChallenge,
  putAcmeFile,
} from '../../store/acme.ts'
import { notice } from '../../store/dialect/notices.ts'
import type { Store } from '../../store/open.ts'
import type { Nodes } from './nodes.ts'

/** The pause between two queries for challenges of other nodes. */
const acmeAnswerRestMs = 50
/** How long a challenge is kept. */
const acmeChallengeMs = 86_400_000

interface Parts {
  readonly store: Pick<Store, 'read' | 'write' | 'onCommit'>
  readonly secrets: SecretBox
  readonly clock: Clock
  readonly nodes: Pick<Nodes, 'takeSweep'>
}

/**
 * What all nodes have in common that get a certificate for the same names from the same CA (lib/tls/acme/shared.ts): the certificate
 * with its key, how the last orders went, and who makes the next; the account at the CA with all that ask it; and the answers to its
 * questions with all nodes, for it may come to any of them.
 */
export function shareCertificate(
  { store, secrets, clock, nodes }: Parts,
  { directory, names }: { readonly directory: string; readonly names: readonly string[] },
) {
  const order = sha256Hex(JSON.stringify([directory, [...names].sort()]))
  const idOf = (kind: string) => `${kind} ${kind === 'account' ? sha256Hex(directory) : order}`
  const placeOf = (id: string) => ({ table: 'acmeFile', column: 'content', id })
  let looking: Promise<ReadonlyMap<string, string>> | undefined

  /** Who asks while it rests sees what was there when they asked; and strangers, who may ask as often as they like, cost little. */
  function look(): Promise<ReadonlyMap<string, string>> {
    looking ??= pause(acmeAnswerRestMs).then(async () => {
      looking = undefined
      const rows = await listAcmeChallenges(store.read)
      return new Map(rows.map(({ token, keyAuthorization }) => [token, keyAuthorization]))
    })
    return looking
  }

  return {
    take: () => nodes.takeSweep(`certificate ${order}`),
    async read(kind: string): Promise<string | undefined> {
      const id = idOf(kind)
      const row = await findAcmeFile(store.read, id)
      try {
        return row && secrets.open(placeOf(id), row.content)
      } catch (error) {
        // Sealed anew by a program that knew nothing of it: what is here in files takes its place.
        if (error instanceof SecretFault) return undefined
        throw error
      }
    },
    async write(kind: string, text: string): Promise<void> {
      const id = idOf(kind)
      const row = {
        id,
        content: secrets.seal(placeOf(id), text),
        changedAt: clock.now().toISOString(),
      }
      await store.write(async db => {
        await putAcmeFile(db, row)
        notice(db, 'certificate')
      })
    },
    async publish(token: string, keyAuthorization: string): Promise<void> {
      const now = clock.now()
      await store.write(async db => {
        await deleteAcmeChallengesBefore(db, isoAfter(now, -acmeChallengeMs))
        await putAcmeChallenge(db, { token, keyAuthorization, createdAt: now.toISOString() })
      })
    },
    findAnswer: async (token: string) => (await look()).get(token),
    onChange: (listener: () => void) => store.onCommit('certificate', listener),
  }
}
