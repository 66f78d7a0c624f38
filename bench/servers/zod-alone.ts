/** A schema library and the three schemas of the servers, without a server: the share of a start that belongs to zod. */
import * as zod from './schemas/zod.ts'

const schemas = [zod.echo, zod.add, zod.greet].map((schema) =>
  schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }),
)

export default {
  fetch: (): Response => Response.json(schemas),
}
