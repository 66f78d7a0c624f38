/** @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping */
import type { PingMethod } from './method.ts'

export const ping: PingMethod = { requires: 'connection', result: {} }
