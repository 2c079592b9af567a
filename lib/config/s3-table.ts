import Type from 'typebox'
import { duration, number, table, text } from './setting.ts'

/** How the bucket of `blobs` is reached. */
export const s3Table = table('How the bucket of blobs is reached.', {
  endpoint: Type.Optional(
    text('base-url', {
      examples: ['https://s3.example.com'],
      description:
        'The server that speaks S3. Without it, Amazon S3 in the region. The name of the bucket is the first part of the path there.',
    }),
  ),
  region: text('name', {
    default: 'us-east-1',
    examples: ['eu-central-1'],
    description: 'The region, which requests are signed for; what servers beside Amazon want here, they say.',
  }),
  access_key_id: Type.Optional(
    text('user', {
      examples: ['AKIAIOSFODNN7EXAMPLE'],
      description:
        'The key that requests are signed with. It must be let put, get, delete and list objects of the bucket.',
    }),
  ),
  secret_access_key_file: Type.Optional(
    text('path', {
      examples: ['/etc/mailboxd/s3.secret'],
      description:
        'The file with its secret in the first line, which the user of the daemon may read (mode 0640, group mailboxd); it is read again at each request, and by mailboxctl also while the daemon is stopped.',
    }),
  ),
  encryption: Type.Enum(['none', 'AES256', 'aws:kms'], {
    default: 'none',
    description:
      'What the server is asked to encrypt each object with (x-amz-server-side-encryption). "none" asks for nothing: many servers do it by themselves.',
  }),
  timeout: duration(['1s', '10m'], {
    default: '30s',
    description: 'How long one request may take. It is made three times at the most.',
  }),
  cache: number({
    default: 1024 * 1024 * 1024,
    minimum: 0,
    maximum: 2 ** 50,
    unit: 'bytes',
    description:
      'What copies in data_dir/cache may come to. One that was read in the last ten minutes stays all the same, and none longer than a day unread.',
  }),
})
