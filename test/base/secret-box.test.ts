import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  createSecretBox,
  type Sealed,
  SecretFault,
  secretKeyBytes,
  secretsOpened,
} from '../../lib/base/secrets.ts'

const place = { table: 'inbox', column: 'webhookSecret', id: '01' }
const box = createSecretBox(randomBytes(secretKeyBytes))
const textOf = (sealed: Sealed) => sealed as unknown as string
const sealedFrom = (text: string) => text as unknown as Sealed

t.test('what was sealed opens for its place, and shows nothing', async t => {
  for (const secret of ['whsec_abc', '', 'ä€🐈', 'x'.repeat(5000)]) {
    const sealed = box.seal(place, secret)
    t.equal(box.open(place, sealed), secret)
    t.equal(box.open(place, sealed), secret, 'and again')
    if (secret.length > 3) t.notOk(textOf(sealed).includes(secret))
  }
  t.not(box.seal(place, 'same'), box.seal(place, 'same'), 'twice the same is not seen to be the same')
})

t.test('it opens nowhere else, and not when a bit of it is another', async t => {
  const sealed = box.seal(place, 'secret')
  for (const other of [{ id: '02' }, { column: 'other' }, { table: 'account' }]) {
    t.throws(() => box.open({ ...place, ...other }, sealed), SecretFault)
  }
  const bytes = Buffer.from(textOf(sealed).slice('sealed:'.length), 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index]! ^= 1
    t.throws(() => box.open(place, sealedFrom(`sealed:${changed.toString('base64url')}`)), SecretFault)
  }
  for (let length = 0; length < bytes.length; length++) {
    const cut = `sealed:${bytes.subarray(0, length).toString('base64url')}`
    t.throws(() => box.open(place, sealedFrom(cut)), SecretFault)
  }
  t.throws(() => box.open(place, sealedFrom('whsec_plain')), SecretFault, 'plain text is no secret')
})

t.test('it opens under its own key alone, which tells itself by an id', async t => {
  const other = createSecretBox(randomBytes(secretKeyBytes))
  t.not(other.keyId, box.keyId)
  t.throws(() => other.open(place, box.seal(place, 's')), { name: 'SecretFault', message: /another key/ })
  const key = randomBytes(secretKeyBytes)
  t.equal(createSecretBox(key).open(place, createSecretBox(key).seal(place, 's')), 's')
  t.throws(() => createSecretBox(randomBytes(16)))
})

t.test('a row that changes is opened anew, and many rows push out the oldest', async t => {
  const first = box.seal(place, 'one')
  t.equal(box.open(place, first), 'one')
  t.equal(box.open(place, box.seal(place, 'two')), 'two')
  t.equal(box.open(place, first), 'one')
  for (let index = 0; index < secretsOpened + 10; index++) {
    const at = { ...place, id: `n${index}` }
    t.equal(box.open(at, box.seal(at, `${index}`)), `${index}`)
  }
})
