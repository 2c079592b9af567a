/** Rows on PostgreSQL, and large messages in a bucket. */
export const onServers = { MAILBOXD_TEST_DATABASE: 'postgres', MAILBOXD_TEST_BLOBS: 's3' } as const

/**
 * The stories that continuous integration tells once more so, of those that meet what the two ways differ in: what is written, placed, searched and
 * claimed, and large messages. With the variables above any story can be told so.
 */
export const serverStories: readonly string[] = [
  'bounces',
  'drafts',
  'forward',
  'mail-in',
  'mail-out',
  'specification-events',
  'specification-messages',
  'specification-sending',
  'specification-threads',
  'specification-webhooks',
  'webhooks',
].map(name => `test/flow/${name}.test.ts`)
