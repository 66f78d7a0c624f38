/** Tools that need nothing of the client: each kind of content, annotations, structured output, progress. */
import { env } from 'cloudflare:workers'
import { type ImageContent, image, type Server, type TextContent, text } from 'edgemcp'
import * as z from 'zod'
import { picture } from './picture.ts'

/** Annotations of tools that read and change nothing. */
export const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

export function tools(server: Server): void {
  server.tool(
    'echo',
    {
      title: 'Echo Tool',
      description: 'Returns the message that it receives',
      inputSchema: z.object({ message: z.string().describe('The text to return') }),
      annotations: reading,
    },
    ({ message }) => `Echo: ${message}`,
  )

  server.tool(
    'get-annotated-message',
    {
      title: 'Get Annotated Message Tool',
      description: 'Returns content with annotations: audience and priority',
      inputSchema: z.object({
        messageType: z.enum(['error', 'success', 'debug']).describe('Which message to return'),
        includeImage: z.boolean().default(false).describe('Adds an image'),
      }),
      annotations: reading,
    },
    ({ messageType, includeImage }) => [messages[messageType], ...(includeImage ? [annotatedImage] : [])],
  )

  server.tool(
    'get-env',
    {
      title: 'Print Environment Tool',
      description: 'Returns the plain text variables of the Worker. Secrets and other bindings are left out.',
      annotations: reading,
    },
    () => JSON.stringify(variables(), null, 2),
  )

  server.tool(
    'get-structured-content',
    {
      title: 'Get Structured Content Tool',
      description: 'Returns the weather of a city as structured content, with an output schema',
      inputSchema: z.object({ location: z.enum(['New York', 'Chicago', 'Los Angeles']).describe('The city') }),
      outputSchema: z.object({
        temperature: z.number().describe('Degrees, in the unit of the city'),
        conditions: z.string().describe('The sky'),
        humidity: z.number().describe('Percent'),
      }),
      annotations: reading,
    },
    ({ location }) => weather[location],
  )

  server.tool(
    'get-sum',
    {
      title: 'Get Sum Tool',
      description: 'Adds two numbers',
      inputSchema: z.object({
        a: z.number().describe('The first number'),
        b: z.number().describe('The second number'),
      }),
      annotations: reading,
    },
    ({ a, b }) => `The sum of ${a} and ${b} is ${a + b}.`,
  )

  server.tool(
    'get-tiny-image',
    { title: 'Get Tiny Image Tool', description: 'Returns a small image between two texts', annotations: reading },
    () => [
      text("Here's the image you requested:"),
      image(picture, 'image/png'),
      text('The image above is a small square.'),
    ],
  )

  server.tool(
    'trigger-long-running-operation',
    {
      title: 'Trigger Long Running Operation Tool',
      description: 'Works for some seconds, and reports its progress after each step',
      inputSchema: z.object({
        duration: z.number().default(10).describe('Seconds of work'),
        steps: z.number().default(5).describe('Number of steps'),
      }),
      annotations: reading,
    },
    async ({ duration, steps }, ctx) => {
      for (let step = 1; step <= steps; step++) {
        await ctx.sleep(`step ${step}`, Math.max(0, (duration * 1000) / steps))
        ctx.progress(step, steps)
      }
      return `Long running operation completed. Duration: ${duration} seconds, Steps: ${steps}.`
    },
  )
}

const messages: Record<'error' | 'success' | 'debug', TextContent> = {
  error: { ...text('Error: Operation failed'), annotations: { priority: 1, audience: ['user', 'assistant'] } },
  success: { ...text('Operation completed successfully'), annotations: { priority: 0.7, audience: ['user'] } },
  debug: {
    ...text('Debug: Cache hit ratio 0.95, latency 150ms'),
    annotations: { priority: 0.3, audience: ['assistant'] },
  },
}

const annotatedImage: ImageContent = {
  ...image(picture, 'image/png'),
  annotations: { priority: 0.5, audience: ['user'] },
}

const weather = {
  'New York': { temperature: 33, conditions: 'Cloudy', humidity: 82 },
  Chicago: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
  'Los Angeles': { temperature: 73, conditions: 'Sunny / Clear', humidity: 48 },
}

/** The names of these do not say which of them are secrets: the example lists those that it declares itself. */
const variables = () =>
  Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name.startsWith('GZIP_') && typeof value === 'string'),
  )
