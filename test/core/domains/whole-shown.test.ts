import t from 'tap'
import { present } from '../../../lib/core/domains/present.ts'
import type { DomainKeyRow, DomainRow } from '../../../lib/store/tables.ts'
import { type Facts, sameFacts } from '../../support/kept-facts.ts'

const purposes = ['mx', 'dkim', 'return-path', 'spf', 'dmarc', 'mta-sts', 'mta-sts-host'] as const
const statuses = ['valid', 'invalid', 'missing'] as const
const now = '2026-01-02T03:04:05.000Z'

const key = (selector: string, algorithm: string, state: string, recordStatus: string): DomainKeyRow => ({
  ...{
    id: selector,
    domainId: 'd',
    selector,
    algorithm,
    privateKey: null,
    publicKey: 'key',
    state,
    recordStatus,
  },
  ...{ found: JSON.stringify([`found of ${selector}`]), createdAt: now, endsAt: null },
})

t.test('a domain as it is shown, whatever of it was found', async t => {
  const facts: Facts[] = []
  for (const mode of ['off', 'enforce'])
    for (const recordStatus of statuses)
      for (const status of ['pending', 'verified', 'failed'])
        for (const [which, checkingUntil] of [
          ['unchecked', null],
          ['being checked', '2026-01-02T03:04:06.000Z'],
          ['checked until now', now],
        ] as const) {
          const app = {
            config: { hostname: 'mail.ours.example', mta_sts: { mode, max_age: '1d' } },
            clock: { now: () => new Date(now) },
          }
          const row = {
            ...{ id: 'd', domain: 'mine.example', podId: null, selector: 'mailboxd', dkimPublicKey: 'first' },
            ...{ status, warnings: '[]', problem: null, verifiedAt: null, createdAt: now, updatedAt: now },
            recordStatuses: JSON.stringify(
              Object.fromEntries(
                purposes.slice(0, which === 'unchecked' ? 3 : 7).map(each => [each, recordStatus]),
              ),
            ),
            found: JSON.stringify({ mx: ['10 elsewhere.example'] }),
            checkingUntil,
          } as unknown as DomainRow
          const keys = [
            key('ed', 'ed25519', 'used', recordStatus),
            key('soon', 'rsa', 'next', recordStatus),
            key('before', 'rsa', 'previous', recordStatus),
          ]
          const { records, ...rest } = present(app as never, row, which === 'checked until now' ? [] : keys)
          facts.push([
            `${mode} ${recordStatus} ${status} ${which}`,
            [
              `${rest.status} ${rest.problem}`,
              ...records.map(
                one => `${one.purpose} ${one.type} ${one.name} ${one.status} ${one.found} ${one.problem}`,
              ),
            ],
          ])
        }
  sameFacts(t, 'domains-shown', facts)
})
