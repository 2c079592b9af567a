import Type from 'typebox'
import { named } from './shape.ts'

export const ErrorDetail = named('ErrorDetail', 'One fault of a request, or of a message over a WebSocket.', {
  path: Type.String({
    description: 'Where it is: a JSON pointer (RFC 6901) into the body, the query or the message.',
    examples: ['/to'],
  }),
  message: Type.String({ description: 'What is wrong there.', examples: ['is required'] }),
})
