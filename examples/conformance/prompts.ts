/** Prompts: plain, with arguments that complete, and with more than text. */
import { embeddedResource, image, type Server } from 'edgemcp'
import * as z from 'zod'
import { pixel } from './media.ts'

export function prompts(server: Server): void {
  server.prompt('test_simple_prompt', { description: 'Returns one message' }, () => {
    return 'This is a simple prompt for testing.'
  })

  server.prompt(
    'test_prompt_with_arguments',
    {
      description: 'Returns its arguments',
      argsSchema: z.object({
        arg1: z.string().describe('The first text'),
        arg2: z.string().describe('The second text'),
      }),
      complete: { arg1: beginningWith('test', 'testing', 'text'), arg2: beginningWith('two', 'twice') },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  )

  server.prompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'Contains a resource',
      argsSchema: z.object({ resourceUri: z.string().describe('The URI of the resource') }),
    },
    ({ resourceUri }) => [
      embeddedResource({ uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }),
      'Please process the embedded resource above.',
    ],
  )

  server.prompt('test_prompt_with_image', { description: 'Contains an image' }, () => [
    image(pixel, 'image/png'),
    'Please analyze the image above.',
  ])
}

const beginningWith =
  (...words: string[]) =>
  (prefix: string) =>
    words.filter((word) => word.startsWith(prefix))
