import Type from 'typebox'
import { idOf, instantOf, labelLength, listOf, named, nullableText } from './shape.ts'

const name = nullableText({
  maxLength: labelLength,
  description: 'A label for people, to know the key by when it is to be revoked.',
  examples: ['ticket agent'],
})

const properties = {
  id: idOf('Names the key where it is revoked; not secret.'),
  name,
  podId: nullableText({ description: 'The pod that the key is confined to; null for an account-wide key.' }),
  inboxId: nullableText({
    description: "The inbox that the key is confined to; podId is then that inbox's pod.",
  }),
  tokenPrefix: Type.String({
    description: 'The first characters of the token; not secret.',
    examples: ['mbx_3kQv'],
  }),
  last4: Type.String({ description: 'The last four characters of the token.', examples: ['w9Zd'] }),
  createdAt: instantOf('When it was made.'),
  lastUsedAt: nullableText({ format: 'date-time', description: 'Null if never used; exact to a minute.' }),
}

export const ApiKey = named(
  'ApiKey',
  'A key that reaches one pod or one inbox. Its token is shown when it is made, and never again.',
  properties,
)
export type ApiKey = Type.Static<typeof ApiKey>

export const ApiKeyWithToken = named('ApiKeyWithToken', 'A key that was just made, with its token.', {
  ...properties,
  token: Type.String({
    description: 'The secret key. It is shown this once and can not be had again.',
    examples: ['mbx_3kQvT7mYcN1pLx0aRfB5uJe8sHgWz2iKoD6tVn4w9Zd'],
  }),
})
export type ApiKeyWithToken = Type.Static<typeof ApiKeyWithToken>

export const ApiKeyCreation = named('ApiKeyCreation', 'A key that is to be made.', {
  name: Type.Optional(name),
})
export type ApiKeyCreation = Type.Static<typeof ApiKeyCreation>

export const ApiKeyList = listOf(ApiKey, 'The keys that were not revoked.')
