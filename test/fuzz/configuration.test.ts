import t from 'tap'
import { exampleConfig } from '../../lib/config/describe.ts'
import { ConfigFault } from '../../lib/config/fault.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { fuzz } from '../support/fuzz.ts'

const example = exampleConfig().replaceAll(/^# (?=[a-z_]+ =)/gm, '')

t.test('whatever stands in the file, it is a configuration or told what is wrong with it', t =>
  fuzz(
    t,
    {
      seeds: [
        example,
        'hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "/var/lib/mailboxd"\n[smtp]\nlisten = ["127.0.0.1:25"]\n',
      ],
      words: [
        '"',
        "'''",
        '\n',
        '[',
        ']',
        '[[',
        '=',
        '.',
        '#',
        '{',
        '}',
        'true',
        '-1',
        '1e400',
        'nan',
        '0x',
        '2026-01-01',
        '"5d"',
        '"-1s"',
        '__proto__',
        'constructor',
        '\\u',
        '\\',
        '\0',
        '\xff',
        'listen = []\n',
        '[delivery]\n',
        '[[routes]]\n',
      ],
    },
    input => {
      try {
        parseConfig(input.toString(), 'mailboxd.toml')
      } catch (error) {
        if (!(error instanceof ConfigFault)) throw error
        if (error.message.length === 0) throw new Error('a fault without a sentence')
      }
    },
  ),
)
