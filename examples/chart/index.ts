import { createServer, serve } from 'edgemcp'
import { app } from 'edgemcp/apps'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'
import html from './chart.html'
import { firstYear, lastYear, salesIn } from './sales.ts'

const server = createServer({ name: 'chart', title: 'Chart', version: '1.0.0' })

const chart = app('ui://chart', { description: 'A bar for each month of a year', html, prefersBorder: true })
server.use(chart)

const Year = z.object({ year: z.int().min(firstYear).max(lastYear).default(lastYear) })
const Sales = z.object({
  year: z.int(),
  firstYear: z.int().describe('The first year with data'),
  lastYear: z.int(),
  months: z.array(z.object({ month: z.string(), sold: z.int().describe('Pieces') })),
})

server.tool(
  'sales',
  {
    description: 'Shows what was sold in each month of a year, as a chart',
    inputSchema: Year,
    outputSchema: Sales,
    annotations: { readOnlyHint: true },
    _meta: chart.toolMeta(),
  },
  ({ year }) => answer(year),
)

server.tool(
  'turn_to_year',
  {
    description: 'Loads another year, for the buttons of the chart',
    inputSchema: Year,
    outputSchema: Sales,
    annotations: { readOnlyHint: true },
    _meta: chart.toolMeta(['app']),
  },
  ({ year }) => answer(year),
)

/** The chart draws what is structured; the text is for the model, and for whoever sees no chart. */
function answer(year: number) {
  const sales = salesIn(year)
  const months = sales.months.map(({ month, sold }) => `${month} ${sold}`).join(', ')
  return {
    content: [{ type: 'text' as const, text: `Pieces sold in ${year}: ${months}.` }],
    structuredContent: sales,
  }
}

const worker = serve(server, { plugins: [sessions(), page()] })
export default worker
export const { McpSession } = worker
