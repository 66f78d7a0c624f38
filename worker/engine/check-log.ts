import { checkValue, type Kind } from '../declarations/check-options.ts'
import * as kind from '../declarations/option-kinds.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isLogLevel } from '../protocol/meta.ts'
import { logLevels } from '../protocol/types.ts'

const logLevel: Kind = [isLogLevel, `one of ${logLevels.join(', ')}`]

/** @returns the data as JSON. An `Error`, which has no JSON form, is its text */
export function checkLog(owner: string, level: unknown, data: unknown, logger: unknown): string {
  checkValue(owner, 'level', level, logLevel)
  if (logger !== undefined) checkValue(owner, 'logger', logger, kind.string)
  return jsonText(data instanceof Error ? String(data) : data, `${owner} got`) ?? 'null'
}
