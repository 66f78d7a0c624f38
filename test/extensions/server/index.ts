/** A server with two extensions: one of its own, and skills. */
import { createServer, McpError, serve } from 'edgemcp'
import { app } from 'edgemcp/apps'
import { extension } from 'edgemcp/extensions'
import { sessions } from 'edgemcp/sessions'
import { skills } from 'edgemcp/skills'
import { kitchen } from '../generated/kitchen.ts'

const weather = extension('com.example/weather', {
  settings: { units: ['celsius'] },
  named: { 'weather/now': 'city' },
  methods: {
    'weather/now': ({ city }, ctx) => {
      if (typeof city !== 'string') throw new McpError('invalid_params', 'params.city must be a string')
      return { city, celsius: 12, who: ctx.client?.name }
    },
    toString: () => ({ text: 'Cloudy' }),
    'weather/breaks': () => {
      throw new Error('A secret of the server')
    },
  },
})

const server = createServer({ name: 'extensions', version: '1.0.0' }).use(weather).use(skills(kitchen))

const chart = app('ui://chart', {
  description: 'Draws a chart',
  html: '<!doctype html><title>Chart</title>',
  csp: { connectDomains: ['https://data.example'] },
  permissions: { clipboardWrite: {} },
})
server.use(chart)
server.tool('sales', { description: 'Sales by month', _meta: chart.toolMeta() }, () => 'January: 3')
server.tool('redraw', { description: 'For the app alone', _meta: chart.toolMeta(['app']) }, () => 'drawn')

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
