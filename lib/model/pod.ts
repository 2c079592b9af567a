import Type from 'typebox'
import { idOf, instantOf, labelLength, named, nullableText } from './shape.ts'

const clientId = nullableText({
  minLength: 1,
  maxLength: labelLength,
  description: "The caller's own identifier, unique in the account; usable in place of the pod's id.",
  examples: ['customer-17'],
})
const name = nullableText({
  maxLength: labelLength,
  description: 'A label for people; nothing is found by it.',
  examples: ['Customer 17'],
})

export const Pod = named(
  'Pod',
  'A tenant: an isolated part of the account, with inboxes, domains and keys that no other pod sees.',
  {
    id: idOf('Names the pod; its `clientId` does, too.'),
    clientId,
    name,
    isDefault: Type.Boolean({
      description: 'True of the one pod that every account has; it takes what names no pod.',
      examples: [false],
    }),
    createdAt: instantOf('When it was made.'),
  },
)
export type Pod = Type.Static<typeof Pod>

const changeable = { clientId: Type.Optional(clientId), name: Type.Optional(name) }

export const PodCreation = named('PodCreation', 'A pod that is to be made.', changeable)
export type PodCreation = Type.Static<typeof PodCreation>

export const PodChange = named('PodChange', 'What of a pod becomes something else.', changeable)
export type PodChange = Type.Static<typeof PodChange>
