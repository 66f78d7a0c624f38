/** The levels are a value as well: a handler can go through them. */
import { type LogLevel, logLevels } from 'edgemcp'

export const levels: readonly LogLevel[] = logLevels
export const rankOf = (level: LogLevel): number => logLevels.indexOf(level)
