import requests
import json

class McpsProxyClient:
    def __init__(self, base_url, schema='default'):
        self.base_url = base_url
        self.schema = schema
        self.id = 1

    def request(self, method, params=None):
        response = requests.post(
            f"{self.base_url}/api/{self.schema}/mcp",
            headers={'Content-Type': 'application/json'},
            json={
                'jsonrpc': '2.0',
                'method': method,
                'params': params or {},
                'id': self.id
            }
        )
        self.id += 1
        return response.json()

    def get_tools(self):
        return self.request('tools/list')

    def call_tool(self, tool_name, args):
        return self.request('tools/call', {
            'name': tool_name,
            'arguments': args
        })

# 使用示例
client = McpsProxyClient('http://localhost:3095')

# 获取工具列表
tools = client.get_tools()
print('可用工具:', tools['result']['tools'])

# 调用工具
result = client.call_tool('filesystem-read_file', {'path': './package.json'})
print('文件内容:', result['result']['content'][0]['text'])
