import t from 'tap'
import {
  decide,
  effectiveMode,
  normalisePolicyValue,
  type PolicyLevel,
} from '../../../lib/core/policy/decision.ts'

/** A mode, and rules as `+value` (allow) and `-value` (block). */
function level(text: string): PolicyLevel {
  const [mode, ...rules] = text.split(' ')
  return {
    scope: 'account',
    setBy: 'account',
    mode: mode as PolicyLevel['mode'],
    rules: rules.map(rule => ({
      id: rule,
      type: rule.startsWith('-') ? 'block' : 'allow',
      value: rule.slice(1),
    })),
  }
}

const bob = 'bob@mail.example.net'

/** Levels from the account to the inbox; an address; the decision. */
const table: readonly (readonly [chain: readonly string[], from: string, decision: string])[] = [
  [['none', 'inherit', 'inherit'], bob, 'permitted'],
  [['none'], bob, 'permitted'],
  [['none +ann@example.org'], bob, 'permitted'],
  [['none -bob@mail.example.net'], bob, 'blocked'],
  [['none -mail.example.net'], bob, 'blocked'],
  [['none -*.mail.example.net'], bob, 'blocked'],
  [['none -*.example.net'], bob, 'blocked'],
  [['none -*.net'], bob, 'blocked'],
  [['none -example.net'], bob, 'permitted'],
  [['none -net'], bob, 'permitted'],
  [['none -*.ample.net'], bob, 'permitted'],
  [['none -bob@example.net'], bob, 'permitted'],
  [['none -bob@mail.example.net'], 'bob+x@mail.example.net', 'blocked'],
  [['none -bob+x@mail.example.net'], bob, 'permitted'],
  // An empty allowlist admits nobody, wherever it is.
  [['allowlist'], bob, 'not_allowed'],
  [['none', 'allowlist', 'inherit'], bob, 'not_allowed'],
  [['none', 'inherit', 'allowlist'], bob, 'not_allowed'],
  [['allowlist', 'inherit', 'inherit'], bob, 'not_allowed'],
  [['allowlist +bob@mail.example.net'], bob, 'permitted'],
  [['allowlist +mail.example.net'], bob, 'permitted'],
  [['allowlist +*.example.net'], bob, 'permitted'],
  [['allowlist +example.net'], bob, 'not_allowed'],
  [['allowlist +bob@mail.example.net'], 'bob+x@mail.example.net', 'not_allowed'],
  // Every list must list the address: no level loosens another.
  [['allowlist +ann@example.org', 'inherit +*.example.net'], bob, 'not_allowed'],
  [['allowlist +ann@example.org', 'allowlist +*.example.net'], bob, 'not_allowed'],
  [['allowlist +*.example.net', 'allowlist +ann@example.org'], bob, 'not_allowed'],
  [['allowlist +*.example.net', 'allowlist +mail.example.net'], bob, 'permitted'],
  [['none', 'allowlist +mail.example.net'], bob, 'permitted'],
  [['allowlist', 'allowlist +mail.example.net', 'allowlist +mail.example.net'], bob, 'not_allowed'],
  [['none', 'allowlist +ann@example.org', 'allowlist +mail.example.net'], bob, 'not_allowed'],
  [['allowlist', 'inherit', 'none'], bob, 'not_allowed'],
  [['allowlist', 'none', 'inherit'], bob, 'not_allowed'],
  [['none', 'allowlist +mail.example.net', 'inherit'], bob, 'permitted'],
  // The allow rules of a level without a list add nothing to the list of another.
  [['none', 'allowlist', 'inherit +mail.example.net'], bob, 'not_allowed'],
  [['none +mail.example.net', 'allowlist', 'inherit'], bob, 'not_allowed'],
  [['allowlist +mail.example.net', 'inherit', 'allowlist'], bob, 'not_allowed'],
  // Block beats allow, at every level and in every mode.
  [['none -mail.example.net', 'inherit', 'allowlist +bob@mail.example.net'], bob, 'blocked'],
  [['allowlist +mail.example.net', 'inherit', 'inherit -bob@mail.example.net'], bob, 'blocked'],
  [['none -bob@mail.example.net', 'none', 'none'], bob, 'blocked'],
  [['none', 'inherit -*.example.net', 'none'], bob, 'blocked'],
  [['allowlist +bob@mail.example.net -bob@mail.example.net'], bob, 'blocked'],
]

t.test('who is let in', async t => {
  for (const [chain, address, wanted] of table) {
    const decision = decide(chain.map(level), { addresses: [address], allowable: address, isProven: true })
    t.equal(
      decision.isPermitted ? 'permitted' : decision.reason,
      wanted,
      `${chain.join(' | ')} for ${address}`,
    )
  }
})

t.test('an allow rule takes the proven From; a block rule any address', async t => {
  const chain = [level('allowlist +mail.example.net -evil.example')]
  const judge = (addresses: string[], allowable: string | null, isProven: boolean) => {
    const decision = decide(chain, { addresses, allowable, isProven })
    return decision.isPermitted ? 'permitted' : decision.reason
  }
  t.equal(judge([bob], bob, true), 'permitted')
  t.equal(judge([bob], bob, false), 'unauthenticated')
  t.equal(judge([bob, 'x@evil.example'], bob, true), 'blocked', 'the reverse-path')
  t.equal(judge(['a@other.example', bob], 'a@other.example', true), 'not_allowed', 'the reverse-path')
  t.equal(judge([], null, true), 'not_allowed', 'nobody')
  t.equal(judge(['x@evil.example'], 'x@evil.example', false), 'blocked')
  t.match(
    decide([level('none -evil.example')], { addresses: ['x@evil.example'], allowable: null, isProven: true }),
    {
      address: 'x@evil.example',
      rule: { value: 'evil.example' },
    },
  )
  t.equal(effectiveMode([level('inherit')]), 'none')
  t.equal(effectiveMode([level('allowlist'), level('none')]), 'allowlist')
})

t.test('the forms of a value', async t => {
  for (const [text, value] of [
    ['Bob@Example.COM', 'bob@example.com'],
    ['example.com', 'example.com'],
    ['@Example.com', 'example.com'],
    ['*@example.com', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.bücher.example', '*.xn--bcher-kva.example'],
    ['ann@Bücher.example', 'ann@xn--bcher-kva.example'],
    ['*@BÜCHER.example', 'xn--bcher-kva.example'],
    ['*', undefined],
    ['', undefined],
    ['@', undefined],
    ['*.', undefined],
    ['*@*.example.com', undefined],
    ['a*b@example.com', undefined],
    ['.example.com', undefined],
    ['*.*.example.com', undefined],
    ['two words', undefined],
    ['example.com.', undefined],
    ['192.0.2.1', undefined],
    ['Ann <ann@example.com>', undefined],
    ['a@b@c', undefined],
  ] as const) {
    t.equal(normalisePolicyValue(text), value, text)
  }
})
