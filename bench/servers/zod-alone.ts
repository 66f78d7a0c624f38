/** A schema library and the three schemas that the servers have, and no server: what of a start is not theirs. */
import * as zod from './schemas/zod.ts'

const schemas = [zod.echo, zod.add, zod.greet].map((schema) =>
  schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }),
)

export default {
  fetch: (): Response => Response.json(schemas),
}
