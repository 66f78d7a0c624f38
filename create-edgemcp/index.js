#!/usr/bin/env node
import { main } from 'edgemcp/cli'

process.exitCode = await main(['init', ...process.argv.slice(2)])
