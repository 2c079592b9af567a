import type { Context, Middleware } from 'koa'
import type { Log } from '../base/log.ts'
import { nameOf, Problem, statusOf } from '../base/problem.ts'
import { answerJson } from './json.ts'

/** Answers whatever is thrown further in: a Problem as it is; all else is a bug, logged here once, and a 500. */
export function answerProblems(log: Log): Middleware {
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      if (error instanceof Problem) return answerProblem(context, error)
      log.error({ err: error, method: context.method, path: context.path }, 'request met a fault')
      answerProblem(context, new Problem('internal_error'))
    }
  }
}

export function answerProblem(context: Context, problem: Problem): void {
  const { retryAfterSeconds, ...more } = problem.more
  if (typeof retryAfterSeconds === 'number') context.set('Retry-After', String(retryAfterSeconds))
  // RFC 9110 §15.5.2
  if (problem.code === 'unauthorized') context.set('WWW-Authenticate', 'Bearer')
  context.status = statusOf(problem.code)
  answerJson(context, { error: nameOf(problem.code), message: problem.message, ...more })
}
