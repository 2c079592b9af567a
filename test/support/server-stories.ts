/** Rows on PostgreSQL, and large messages in a bucket. Of what the property run asks there a third is asked of servers, too. */
export const onServers = {
  MAILBOXD_TEST_DATABASE: 'postgres',
  MAILBOXD_TEST_BLOBS: 's3',
  MAILBOXD_PROPERTY_RUNS: '15',
} as const

/**
 * What continuous integration runs once more so, of what meets that in which the two ways differ: what is written, placed, searched and claimed, and
 * large messages. With the first two variables above any story can be told so, and any test that has its App by `startApi`. Where a sentence of the
 * specification and a real mail server meet the same statements, the specification is told: it costs half. What each shows there stands in
 * docs/reliability.md.
 */
export const serverStories: readonly string[] = [
  'api/property',
  'flow/drafts',
  'flow/specification-bounces',
  'flow/specification-events',
  'flow/specification-forwarding',
  'flow/specification-messages',
  'flow/specification-plans',
  'flow/specification-rules',
  'flow/specification-sending',
  'flow/specification-threads',
  'flow/specification-webhooks',
].map(name => `test/${name}.test.ts`)

/**
 * `MAILBOXD_TEST_DATABASE=postgres` has the stories of a run told with their rows on a real PostgreSQL, a database for each daemon.
 */
export const isOnServers = process.env.MAILBOXD_TEST_DATABASE === 'postgres'

/** What can't be told so, and why. */
export const fileStories: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    backup: 'rows on a server are backed up there',
    'clock-steps': "a clock that is not the server's is refused, which flow/nodes-clock is about",
    descriptors: 'a connection to the server needs a descriptor, too',
    'disk-faults': 'it is about the disk of the file; flow/database-full is about that of a server',
    'disk-full': 'it is about the disk of the file; flow/database-full is about that of a server',
    'dns-check':
      'the doctor, whose exit code it looks at, warns of the server of the tests, which does not sync',
    doctor: 'it warns of the server of the tests, which does not sync',
    'draft-files': 'it is about files in the data directory; flow/bucket is about those of a bucket',
    'mailboxctl-root': 'it is about who owns the file',
    'moving-files': 'it moves large messages from files to a bucket, where they are already',
    'power-cuts': 'it is about the disk of the file',
    'next-step': 'it has a file and a server of its own',
    'specification-domain-age': 'it sets back a date in the file',
    'start-stored': 'it fills the file, and counts what a start reads of it',
  }).map(([name, why]) => [`test/flow/${name}.test.ts`, why]),
)
