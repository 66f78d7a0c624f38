import theme from 'vitepress/theme'
import './edgemcp.css'

export default theme
