import Type from 'typebox'
import { categories } from '../base/ids.ts'
import { table, tableList, text } from './setting.ts'

/** How long messages are kept. */
export const retentionTable = table('How long messages are kept.', {
  rule: tableList(
    {
      examples: [{ category: 'spam', keep_for: '30d' }],
      description:
        'Rules by which messages are deleted for good when they are older than keep_for. One table for each; of those that mean a message the first one counts, and what none means is kept. What is still on its way out is kept, too. Looked at every hour; "mailboxctl message purge" does the same at once.',
    },
    {
      keep_for: Type.Optional(
        Type.String({
          format: 'duration',
          between: ['1h', '36500d'],
          examples: ['30d'],
          description: 'How long. Without it, for ever: an exception from the rules after this one.',
        }),
      ),
      inbox: Type.Optional(
        text('address', { examples: ['ann@example.com'], description: 'Messages of this inbox alone.' }),
      ),
      pod: Type.Optional(
        text('name', {
          examples: ['customer-7'],
          description: 'Messages of this pod alone, by its id or clientId.',
        }),
      ),
      category: Type.Optional(
        Type.Enum(categories, { examples: ['spam'], description: 'Messages of this category alone.' }),
      ),
    },
  ),
})
