/** Schemas of valibot that know their JSON Schemas, as Standard Schema has them. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as valibot from './valibot.ts'

export const temperatures = toStandardJsonSchema(valibot.temperatures)
export const converted = toStandardJsonSchema(valibot.converted)
