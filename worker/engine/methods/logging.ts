/** @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging */
import { McpError } from '../../protocol/errors.ts'
import { isLogLevel } from '../../protocol/meta.ts'
import { logLevels } from '../../protocol/types.ts'
import type { SessionMethod } from './method.ts'

export const setLevel: SessionMethod = {
  requires: 'session',
  offered: () => true,
  async answer({ level }, session) {
    if (!isLogLevel(level)) throw new McpError('invalid_params', `params.level must be one of ${logLevels.join(', ')}`)
    session.setLogLevel(level)
    return {}
  },
}
