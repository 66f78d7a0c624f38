/** Schemas of valibot with JSON Schema conversion, as Standard Schema defines it. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as valibot from './valibot.ts'

export const temperatures = toStandardJsonSchema(valibot.temperatures)
export const converted = toStandardJsonSchema(valibot.converted)
