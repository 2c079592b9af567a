import t, { type Test } from 'tap'
import { readDkimSignatures } from '../../../lib/mail/authentication/dkim.ts'
import { readSignature, type SignatureKind } from '../../../lib/mail/signature/signature.ts'
import { byLength, type Facts, sameFacts } from '../../support/kept-facts.ts'

const names: Readonly<Record<SignatureKind, string>> = {
  'dkim-signature': 'DKIM-Signature',
  'arc-message-signature': 'ARC-Message-Signature',
  'arc-seal': 'ARC-Seal',
}
const good: Readonly<Record<SignatureKind, string>> = {
  'dkim-signature':
    'v=1; a=rsa-sha256; c=relaxed/simple; d=a.example; s=s1; h=From:To; i=@b.a.example; l=9; t=5; x=7; q=dns/txt; bh=AAAA; b=BBBB',
  'arc-message-signature':
    'i=3; a=ed25519-sha256; c=relaxed/relaxed; d=a.example; s=s1; h=from:to; t=5; bh=AAAA; b=BBBB',
  'arc-seal': 'i=3; a=rsa-sha256; cv=pass; d=a.example; s=s1; t=5; b=BBBB',
}

function read(kind: SignatureKind, value: string, name = names[kind]) {
  return readSignature(`${name}:${value}`, kind)
}

/** What is read of it otherwise than of one that is well. */
function otherwise(t: Test, kind: SignatureKind, value: string, name = names[kind]) {
  const said = read(kind, value, name)
  if ('fault' in said) return `${said.result}: ${said.fault}, d=${said.domain} s=${said.selector}`
  const { unsigned, ...rest } = said
  t.equal(
    unsigned,
    `${name}:${value.replace(/(^\s*|;\s*)(b\s*=)[^;]*/, '$1$2')}`,
    'it signs itself without b=',
  )
  const usual = read(kind, good[kind]) as typeof said
  const changed = Object.entries(rest).filter(
    ([key, one]) => JSON.stringify(one) !== JSON.stringify(usual[key as keyof typeof rest]),
  )
  return changed.length === 0
    ? 'the same'
    : Object.fromEntries(changed.map(([key, one]) => [key, one ?? 'none']))
}

/** What stands in place of a tag; undefined: the tag is left out. */
const instead: Readonly<Record<string, readonly (string | undefined)[]>> = {
  v: [undefined, '', '1 ', '01', '2', '1;v=1'],
  a: [undefined, '', 'RSA-SHA256', 'Ed25519-Sha256', 'rsa-sha1', 'rsa-sha2567', 'xrsa-sha256', 'rsa'],
  c: [
    undefined,
    '',
    'simple',
    'RELAXED',
    'relaxed',
    'simple/RELAXED',
    'simple/',
    '/simple',
    'xsimple',
    'relaxedx',
    'simple/relaxed/simple',
    'nowsp',
  ],
  d: [
    undefined,
    '',
    'A.Example',
    'example',
    'a..example',
    '.a.example',
    'a.example.',
    '-a.example',
    'a-.example',
    'a-b.example',
    '_a.example',
    'a_.example',
    'a b.example',
    'ä.example',
    `${'a'.repeat(63)}.example`,
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(113)}example`,
    `${'a.'.repeat(115)}example`,
    `${'a.'.repeat(116)}example`,
    `aa.${'a.'.repeat(115)}example`,
    `${'a.'.repeat(123)}example`,
    `aa.${'a.'.repeat(122)}example`,
  ],
  s: [
    undefined,
    '',
    'S1',
    's.1',
    's..1',
    '-',
    's-',
    's_',
    '1',
    'ü',
    `${'a'.repeat(63)}`,
    `${'a'.repeat(64)}`,
  ],
  h: [
    undefined,
    '',
    'from',
    ' from : to ',
    'to:from:from',
    'FROM\r\n\t:To',
    'to',
    'from:',
    ':from',
    'fromm',
    'from:arc-seal',
    'from:ARC-Seal',
    'from to',
  ],
  i: [
    undefined,
    '',
    '@a.example',
    'x@a.example',
    'X@A.Example',
    '@c.b.a.example',
    '@xa.example',
    '@example',
    'a.example',
    'a@b@a.example',
    '@',
    '1',
    '0',
    '01',
    '9',
    '10',
    '50',
    '51',
    '99',
    '100',
    'x',
    '-1',
    '1.',
    '1 ',
  ],
  l: [undefined, '', '0', '007', '-1', '1e3', '0x1', '9'.repeat(76), '9'.repeat(77), '1 1'],
  t: [undefined, '', '0', '6', '7', '8', 'x', '5.5'],
  x: [undefined, '', '4', '5', '6', '9'.repeat(76), '9'.repeat(77)],
  q: [undefined, '', 'dns/txt', 'DNS/TXT', 'dns', 'x:dns/txt', 'x : dns/txt', 'dns/txtx', 'x'],
  bh: [undefined, '', 'AA\r\n AA', 'A A A A', 'AAA=', 'AA==', 'A===', 'AA=A', '=', 'A*', 'A-_'],
  b: [undefined, '', 'BB\r\n\tBB', ' B B B B ', 'BBB=', 'BB==', 'B===', '=BB', 'B*', 'B-_', 'BB==;'],
  cv: [undefined, '', 'none', 'NONE', 'fail', 'x'],
}

/** The tag-list without the tag, or with another value of it where it stood; at the end where it did not. */
function withTag(tags: string, name: string, value: string | undefined): string {
  const list = tags.split('; ')
  const made = value === undefined ? [] : [`${name}=${value}`]
  const at = list.findIndex(each => each.startsWith(`${name}=`))
  return list.toSpliced(at < 0 ? list.length : at, at < 0 ? 0 : 1, ...made).join('; ')
}

/** With how often it stands there in the place of what stands there ten times or more. */
const short = (text: string) =>
  text.replace(/(.+?)\1{9,}/g, (all, one: string) => `${one}(${all.length / one.length} times)`)

t.test('what is read of a signature by each of its tags', async t => {
  const facts: Facts[] = []
  for (const kind of Object.keys(good) as SignatureKind[]) {
    facts.push([kind, read(kind, ` ${good[kind]}`)])
    for (const [name, values] of Object.entries(instead)) {
      // What the kinds have in common is read once.
      if (kind !== 'dkim-signature' && ['d', 's', 'c', 't'].includes(name)) continue
      const lines = values.map(value => {
        const shown = value === undefined ? 'left out' : JSON.stringify(short(value))
        const said = otherwise(t, kind, withTag(good[kind], name, value))
        return `${shown} → ${typeof said === 'string' ? short(said) : JSON.stringify(said)}`
      })
      facts.push([`${kind}: ${name}`, lines])
    }
  }
  sameFacts(t, 'signatures', facts)
})

t.test('the form of a list of tags', async t => {
  const dkim = good['dkim-signature']
  const facts: Facts[] = []
  for (const [title, value, name] of [
    ['nothing', ''],
    ['a blank', ' '],
    ['a semicolon', ';'],
    ['its end', `${dkim};`],
    ['its end and a fold', `${dkim};\r\n\t `],
    ['two ends', `${dkim};;`],
    ['an empty one at first', `;${dkim}`],
    ['folds around', `\r\n ${dkim.replaceAll('; ', ' \r\n\t;\r\n ').replaceAll('=', '\r\n =\t')} `],
    ['one in capitals', dkim.replace('bh=', 'BH=')],
    ['one that begins with a digit', `${dkim}; 1=2`],
    ['one with a hyphen', `${dkim}; a-b=2`],
    ['one with a low line and a digit', `${dkim}; a_1=2`],
    ['one without a value', `${dkim}; y`],
    ['one without a name', `${dkim}; =y`],
    ['one twice', `${dkim}; y=1; y=2`],
    ['one in both cases', `${dkim}; y=1; Y=2`],
    ['an equals sign in a value', `${dkim}; y=1=2`],
    ['a tilde in a value', `${dkim}; y=~ !`],
    ['DEL in a value', `${dkim}; y=a\x7fb`],
    ['NUL in a value', `${dkim}; y=a\0b`],
    ['a vertical tab in a value', `${dkim}; y=a\vb`],
    ['a vertical tab at its end', `${dkim}; y=a\v`],
    ['NBSP before a value', `${dkim}; y=\xa0a`],
    ['Latin in a value', `${dkim}; y=\xe9`],
    ['NBSP before a name', `${dkim};\xa0y=1`],
    ['a name with a blank in it', `${dkim}; a b=1`],
    ['b in the midst', dkim.replace('; b=BBBB', '').replace('h=', 'b= BB\r\n BB ;h=')],
    ['b at first', `b=BBBB; ${dkim.replace('; b=BBBB', '')}`],
    ['b in capitals before it', dkim.replace('b=BBBB', 'B=x; b=BBBB')],
    ['a name with a blank before its colon', dkim, 'DKIM-Signature \t'],
  ] as const)
    facts.push([title, otherwise(t, 'dkim-signature', value, name)])
  for (const kind of Object.keys(good) as SignatureKind[]) {
    const least = names[kind].length + 1
    const field = Buffer.from(`${names[kind]}: ${good[kind]}`)
    const outline = (beginning: Buffer) => {
      const said = readSignature(beginning.toString(), kind)
      if ('fault' in said) return said
      const { unsigned, signature, ...rest } = said
      return { ends: unsigned.slice(-3), signature, bodyHash: rest.bodyHash, identity: rest.identityDomain }
    }
    facts.push([`${kind}, cut off`, byLength(field, outline, least)])
  }
  sameFacts(t, 'signature-forms', facts)
})

t.test('of the signatures the topmost ten are read, whatever stands between them', async t => {
  const field = (i: number) =>
    `dkim-signature${' '.repeat(i % 2)}: ${good['dkim-signature'].replace('s1', `s${i}`)}`
  for (const count of [0, 1, 9, 10, 11, 30]) {
    const fields = Array.from({ length: count }, (_, i) => [
      'X-DKIM-Signature: a',
      field(i),
      'DKIM: b',
    ]).flat()
    const selectors = readDkimSignatures(fields).map(each => each.selector)
    t.strictSame(
      selectors,
      Array.from({ length: Math.min(count, 10) }, (_, i) => `s${i}`),
      `${count}`,
    )
  }
})
