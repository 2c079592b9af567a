import Type from 'typebox'
import { nameOf, type ProblemCode, problems, statusOf } from '../base/problem.ts'
import { ErrorDetail } from '../model/error.ts'
import { named, oneOf } from '../model/shape.ts'
import type { Components } from './components.ts'
import { type Operation, problemsOf } from './operation.ts'

type Json = Record<string, unknown>

const codes = Object.keys(problems) as ProblemCode[]

const ErrorCode = oneOf([...new Set(codes.map(nameOf))], {
  title: 'ErrorCode',
  description: codes
    .map(code => `- \`${nameOf(code)}\` (${problems[code][0]}): ${problems[code][1]}`)
    .join('\n'),
})

const ErrorBody = named(
  'ErrorBody',
  'Every refusal has this form. Some have more properties, which the operation tells.',
  {
    error: ErrorCode,
    message: Type.String({
      description: 'What it is and what to do, in a sentence for people; it may change.',
      examples: ['There is no such thing here.'],
    }),
    details: Type.Optional(
      Type.Array(ErrorDetail, { description: 'Each fault of a request that is not well-formed.' }),
    ),
  },
  { additionalProperties: true },
)

/** The parts of which the refusals of these operations are made, for `components`. */
export function errorComponents(operations: readonly Operation[], components: Components): Json {
  const given = new Set(operations.flatMap(problemsOf))
  components.use(ErrorBody)
  return {
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

/** Whose refusals say when to ask again. */
const saysWhen: ReadonlySet<number> = new Set([429, 503])

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
          ...(saysWhen.has(status) && {
            headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } },
          }),
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/ErrorBody' },
              examples: Object.fromEntries(
                given.map(code => [code, { $ref: `#/components/examples/${code}` }]),
              ),
            },
          },
        },
      ]),
  )
}
