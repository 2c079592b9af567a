import { operations } from '../../api/index.ts'
import { type Parameter, parametersOf } from '../../api/parameters.ts'
import { resourceOfEach } from '../../api/resources.ts'
import { spoken } from './spoken.ts'

/** What a command is told of its operation: plain data. */
export interface Declared {
  readonly id: string
  readonly resource: string
  readonly summary: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  /** What its Idempotency-Key is for, where it takes one. */
  readonly idempotencyKey: string | undefined
  readonly isDownload: boolean
}

const resources = await resourceOfEach()

/** Every operation that is a command. The build (bin/build.ts) makes the data of it, so that a call loads the operation alone that it does. */
export const declared: readonly Declared[] = operations
  .filter(({ id }) => id in spoken)
  .map(one => ({
    id: one.id,
    resource: resources.get(one.id)!,
    summary: one.summary,
    description: one.description,
    parameters: parametersOf(one).map(each =>
      spoken[one.id]!.clearsNothing ? { ...each, mayClear: false } : each,
    ),
    idempotencyKey: one.headers?.['Idempotency-Key']?.description,
    isDownload: 'download' in one.success,
  }))
