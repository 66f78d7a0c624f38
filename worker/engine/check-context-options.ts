/** Checks the options of members of `ctx`, in every build: they decide how long a call waits, and what is written to a stream. */
import { checkOptions, type KindsOf } from '../declarations/check-options.ts'
import type { AskOptions, UrlElicitationOptions } from '../declarations/context.ts'
import * as kind from '../declarations/option-kinds.ts'

const timeout = kind.positiveDuration
const askOptions: KindsOf<AskOptions> = { timeout, task: kind.object({ ttl: kind.duration }) }

const urlOptions: KindsOf<UrlElicitationOptions> = {
  ...askOptions,
  required: kind.flag,
  elicitationId: [
    (value) => typeof value === 'string' && value !== '' && value.length <= 256,
    'a string of 1 to 256 characters',
  ],
}

/** @param owner the call, for the error */
export const checkAskOptions = (owner: string, options: unknown): void => checkOptions(owner, options, askOptions)

/** @param owner the call, for the error */
export const checkUrlOptions = (owner: string, options: unknown): void => checkOptions(owner, options, urlOptions)

export const checkRequestOptions = (options: unknown): void => checkOptions('ctx.requestInput()', options, { timeout })

export const checkCloseStream = (options: unknown): void =>
  checkOptions('ctx.closeStream()', options, { retryMs: kind.size })
