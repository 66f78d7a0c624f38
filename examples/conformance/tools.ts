/** Tools that only answer: each kind of content, a failure, and two input schemas out of the ordinary. */
import { audio, embeddedResource, image, type Server, text } from 'edgemcp'
import * as z from 'zod'
import { pixel, silence } from './media.ts'

export function tools(server: Server): void {
  server.tool('test_simple_text', { description: 'Returns text' }, () => {
    return 'This is a simple text response for testing.'
  })

  server.tool('test_image_content', { description: 'Returns an image' }, () => image(pixel, 'image/png'))

  server.tool('test_audio_content', { description: 'Returns audio' }, () => audio(silence, 'audio/wav'))

  server.tool('test_embedded_resource', { description: 'Returns a resource' }, () =>
    embeddedResource({
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    }),
  )

  server.tool('test_multiple_content_types', { description: 'Returns three kinds of content' }, () => [
    text('Multiple content types test:'),
    image(pixel, 'image/png'),
    embeddedResource({
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: JSON.stringify({ test: 'data', value: 123 }),
    }),
  ])

  server.tool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })

  server.tool(
    'test_custom_header',
    {
      description: 'Has an argument that is also sent as a header',
      inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
    },
    ({ region }) => `Region: ${region}`,
  )

  server.tool(
    'json_schema_2020_12_tool',
    { description: 'Publishes its JSON Schema unchanged', inputSchema: contactSchema },
    ({ name = 'nobody' }) => `Noted how to reach ${name}`,
  )
}

const contactSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
} as const
