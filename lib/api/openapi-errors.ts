import { nameOf, type ProblemCode, problems, statusOf } from '../base/problem.ts'
import { type Operation, problemsOf } from './operation.ts'

type Json = Record<string, unknown>

const codes = Object.keys(problems) as ProblemCode[]

/** The parts of which the refusals of these operations are made, for `components`. */
export function errorComponents(operations: readonly Operation[]): Json {
  const given = new Set(operations.flatMap(problemsOf))
  return {
    schemas: {
      Error: {
        type: 'object',
        required: ['error', 'message'],
        properties: {
          error: {
            type: 'string',
            enum: [...new Set(codes.map(nameOf))],
            description: 'What it is, for programs.',
          },
          message: { type: 'string', description: 'What it is and what to do, for people.' },
          details: {
            type: 'array',
            description: 'Each fault of a request that is not well-formed.',
            items: {
              type: 'object',
              properties: { path: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
    headers: {
      RetryAfter: {
        description: 'Whole seconds after which the same request can be made again.',
        required: true,
        schema: { type: 'integer', minimum: 1, examples: [12] },
      },
    },
    examples: Object.fromEntries(
      codes
        .filter(code => given.has(code))
        .map(code => [code, { value: { error: nameOf(code), message: problems[code][1] } }]),
    ),
  }
}

/** The refusals that an operation can give, by status. */
export function errorResponses(one: Operation): Json {
  const byStatus = Map.groupBy(problemsOf(one), statusOf)
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, given]) => [
        String(status),
        {
          description: given.map(code => `\`${nameOf(code)}\`: ${problems[code][1]}`).join('\n\n'),
          ...(status === 429 && {
            headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
          }),
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/Error' },
              examples: Object.fromEntries(
                given.map(code => [code, { $ref: `#/components/examples/${code}` }]),
              ),
            },
          },
        },
      ]),
  )
}
